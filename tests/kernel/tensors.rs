//! Promise: tensors are known by name, and their elements by index.

use holdfast::problem::InputType;
use holdfast::tensor::{Named, Tensor, TensorName};

#[test]
fn names_are_read_back_and_keep_their_order() {
    for name in TensorName::SCANNED {
        assert_eq!(name.name().parse(), Ok(name));
    }
    let named: Named<u8> = [(TensorName::LastState, 2), (TensorName::Out, 1)].into_iter().collect();
    let text = serde_json::to_string(&named).expect("a map");
    assert_eq!(text, r#"{"out":1,"last_state":2}"#);
    assert_eq!(serde_json::from_str::<Named<u8>>(&text).expect("its own text"), named);
    assert!(serde_json::from_str::<Named<u8>>(r#"{"y":1}"#).is_err());
}

#[test]
fn an_index_counts_elements_and_not_their_parts() {
    let tensor = Tensor { shape: vec![2, 3], width: 2, element: InputType::F32, values: vec![0.0; 12] };
    assert_eq!((tensor.index(0), tensor.index(1)), (vec![0, 0], vec![0, 0]));
    assert_eq!((tensor.index(5), tensor.index(11)), (vec![0, 2], vec![1, 2]));
}
