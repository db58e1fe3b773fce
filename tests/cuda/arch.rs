//! Promise: an architecture is a known form of words, or an error that names the variable.

use holdfast::kernel::cuda::arch::Arch;

#[test]
fn reads_what_it_writes_and_nothing_else() {
    for text in ["sm_75", "sm_90", "sm_90a", "sm_100", "sm_103f"] {
        assert_eq!(text.parse::<Arch>().expect("an architecture").to_string(), text);
    }
    for text in ["", "90", "sm_", "sm_9", "sm_90aa", "sm_9x", "sm_1000", "compute_90", "sm_90 ", "sm_٩٠"] {
        let error = text.parse::<Arch>().expect_err(text);
        assert!(error.to_string().contains("HOLDFAST_CUDA_ARCH"), "{error}");
    }
}

#[test]
fn the_variable_wins_over_the_device() {
    let own = Arch::of_device(9, 0);
    assert_eq!(Arch::selected(None, own.clone()), Ok(own.clone()));
    assert_eq!(Arch::selected(Some(""), own.clone()), Ok(own.clone()));
    assert_eq!(Arch::selected(Some("sm_80"), own.clone()), Ok(Arch::of_device(8, 0)));
    assert!(Arch::selected(Some("hopper"), own).is_err());
}
