//! Source code in which every mutant can be switched on while it runs.

use std::path::Path;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, UnOp, parse_quote};

use crate::list::Mutant;

/// The module that the changed crate has besides: which mutant is on. Where `MUTANTS_REACHED` names a file, none is, and each
/// that is asked about leaves a byte there: a test that leaves none cannot see that mutant.
pub const SWITCH: &str = r#"//! Which mutant is on: the one that the environment names.
#![allow(unsafe_code)]
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

const NOT_ASKED: u32 = u32::MAX;
const RECORDS: u32 = u32::MAX - 1;
static ON: AtomicU32 = AtomicU32::new(NOT_ASKED);
static REACHED: OnceLock<&'static [AtomicU8]> = OnceLock::new();

#[inline]
pub fn on(id: u32) -> bool {
    let now = ON.load(Relaxed);
    now == id || now >= RECORDS && start_or_record(now, id)
}

#[cold]
fn start_or_record(now: u32, id: u32) -> bool {
    if now == NOT_ASKED {
        start();
        return on(id);
    }
    if let Some(byte) = REACHED.get().and_then(|all| all.get(id as usize)) {
        byte.store(1, Relaxed);
    }
    false
}

fn start() {
    if let Some(file) = std::env::var_os("MUTANTS_REACHED") {
        REACHED.get_or_init(|| shared(&file));
        ON.store(RECORDS, Relaxed);
    } else {
        let id = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        ON.store(id, Relaxed);
    }
}

unsafe extern "C" {
    fn mmap(at: *mut u8, length: usize, access: i32, flags: i32, file: i32, offset: i64) -> *mut AtomicU8;
}

/// The file's bytes, as other processes see and change them.
fn shared(file: &std::ffi::OsStr) -> &'static [AtomicU8] {
    let file = std::fs::File::options().read(true).write(true).open(file).expect("the file of reached mutants");
    let length = file.metadata().expect("its length").len() as usize;
    // SAFETY: the mapping is as long as the file, and stays to the end of the process.
    unsafe {
        let start = mmap(std::ptr::null_mut(), length, 3, 1, file.as_raw_fd(), 0);
        assert!(start as isize != -1, "the file of reached mutants cannot be mapped");
        std::slice::from_raw_parts(start, length)
    }
}
"#;

/// Rewrites one file with `mutants` in it. Returns the numbers of those that have no place in the new text: in constants,
/// which are computed before anything runs, in macros, in conditions with `let`.
///
/// # Errors
/// A file that is no Rust, or cannot be written.
pub fn rewrite(file: &Path, mutants: &[&Mutant]) -> Result<Vec<u32>, String> {
    let error = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| error(&e))?;
    let mut syntax = syn::parse_file(&text).map_err(|e| error(&e))?;
    let mut rewriter = Rewriter { mutants, placed: Vec::new(), constant: 0 };
    rewriter.visit_file_mut(&mut syntax);
    std::fs::write(file, prettyplease::unparse(&syntax)).map_err(|e| error(&e))?;
    let placed = rewriter.placed;
    Ok(mutants.iter().map(|m| m.id).filter(|id| !placed.contains(id)).collect())
}

struct Rewriter<'a> {
    mutants: &'a [&'a Mutant],
    placed: Vec<u32>,
    /// How many functions around this place are `const`.
    constant: usize,
}

/// Line and column as cargo-mutants counts them.
fn place(at: LineColumn) -> (usize, usize) {
    (at.line, at.column + 1)
}

impl Rewriter<'_> {
    /// The mutants of a kind that stand at one of these places.
    fn at(&self, genre: &str, places: &[(usize, usize)]) -> Vec<(u32, String)> {
        let here = |m: &&&Mutant| self.constant == 0 && m.genre == genre && places.contains(&m.start);
        self.mutants.iter().filter(here).map(|m| (m.id, m.replacement.clone())).collect()
    }

    /// A function that returns at once.
    fn body(&mut self, block: &mut syn::Block) {
        let mut places = vec![place(block.brace_token.span.open().start())];
        places.extend(block.stmts.first().map(|first| place(first.span().start())));
        for (id, text) in self.at("FnValue", &places) {
            let Ok(value) = syn::parse_str::<Expr>(&text) else { continue };
            self.placed.push(id);
            block.stmts.insert(0, parse_quote!(if crate::mutant::on(#id) { return #value; }));
        }
    }

    fn binary(&mut self, changed: &syn::ExprBinary, found: &[(u32, String)]) -> Option<Expr> {
        use BinOp::{
            Add, And, BitAnd, BitOr, BitXor, Div, Eq, Ge, Gt, Le, Lt, Mul, Ne, Or, Rem, Shl, Shr, Sub,
        };
        let (left, right, op) = (&changed.left, &changed.right, &changed.op);
        let others = || found.iter().filter_map(|(id, text)| Some((id, syn::parse_str::<BinOp>(text).ok()?)));
        // Operands are evaluated once, but for those of `&&` and `||`, which may not be evaluated at all.
        let whole: Expr = match op {
            And(_) | Or(_) => {
                let mut whole: Expr = parse_quote!((#left #op #right));
                for (id, other) in others() {
                    whole = parse_quote!((if crate::mutant::on(#id) { #left #other #right } else { #whole }));
                }
                whole
            }
            Eq(_) | Ne(_) | Lt(_) | Le(_) | Gt(_) | Ge(_) => {
                let mut whole: Expr = parse_quote!(*__l #op *__r);
                for (id, other) in others() {
                    whole = parse_quote!(if crate::mutant::on(#id) { *__l #other *__r } else { #whole });
                }
                parse_quote!((match (&(#left), &(#right)) { (__l, __r) => #whole }))
            }
            Add(_) | Sub(_) | Mul(_) | Div(_) | Rem(_) | BitAnd(_) | BitOr(_) | BitXor(_) | Shl(_)
            | Shr(_) => {
                let mut whole: Expr = parse_quote!(__l #op __r);
                for (id, other) in others() {
                    whole = parse_quote!(if crate::mutant::on(#id) { __l #other __r } else { #whole });
                }
                parse_quote!((match (#left, #right) { (__l, __r) => #whole }))
            }
            _ => {
                let mut whole: Expr = parse_quote!({ #left #op __r });
                for (id, other) in others() {
                    whole = parse_quote!(if crate::mutant::on(#id) { #left #other __r } else { #whole });
                }
                parse_quote!({ let __r = #right; #whole })
            }
        };
        self.placed.extend(found.iter().map(|(id, _)| id));
        Some(whole)
    }
}

/// Whether it binds names, which a copy of it may not.
fn has_let(e: &Expr) -> bool {
    match e {
        Expr::Let(_) => true,
        Expr::Binary(b) => has_let(&b.left) || has_let(&b.right),
        Expr::Paren(p) => has_let(&p.expr),
        _ => false,
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_item_fn_mut(&mut self, f: &mut syn::ItemFn) {
        self.constant += usize::from(f.sig.constness.is_some());
        visit_mut::visit_item_fn_mut(self, f);
        self.body(&mut f.block);
        self.constant -= usize::from(f.sig.constness.is_some());
    }

    fn visit_impl_item_fn_mut(&mut self, f: &mut syn::ImplItemFn) {
        self.constant += usize::from(f.sig.constness.is_some());
        visit_mut::visit_impl_item_fn_mut(self, f);
        self.body(&mut f.block);
        self.constant -= usize::from(f.sig.constness.is_some());
    }

    fn visit_trait_item_fn_mut(&mut self, f: &mut syn::TraitItemFn) {
        visit_mut::visit_trait_item_fn_mut(self, f);
        f.default.iter_mut().for_each(|block| self.body(block));
    }

    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_trait_item_const_mut(&mut self, _: &mut syn::TraitItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_expr_const_mut(&mut self, _: &mut syn::ExprConst) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        let deleted = self.at("MatchArm", &[place(arm.pat.span().start())]);
        let guard = arm.guard.as_ref().map(|(_, guard)| place(guard.span().start()));
        let replaced = guard.map_or_else(Vec::new, |at| self.at("MatchArmGuard", &[at]));
        visit_mut::visit_arm_mut(self, arm);
        if arm.guard.as_ref().is_some_and(|(_, guard)| has_let(guard)) {
            return;
        }
        for (id, text) in replaced {
            let (Some((_, guard)), Ok(value)) = (&mut arm.guard, syn::parse_str::<Expr>(&text)) else {
                continue;
            };
            **guard = parse_quote!((if crate::mutant::on(#id) { #value } else { #guard }));
            self.placed.push(id);
        }
        for (id, _) in deleted {
            let guard: Expr = match &arm.guard {
                Some((_, guard)) => parse_quote!(!crate::mutant::on(#id) && #guard),
                None => parse_quote!(!crate::mutant::on(#id)),
            };
            arm.guard = Some((Default::default(), Box::new(guard)));
            self.placed.push(id);
        }
    }

    fn visit_expr_mut(&mut self, e: &mut Expr) {
        let found = match &*e {
            Expr::Binary(b) => self.at("BinaryOperator", &[place(b.op.span().start())]),
            Expr::Unary(u) if !matches!(u.op, UnOp::Deref(_)) => {
                self.at("UnaryOperator", &[place(u.span().start())])
            }
            _ => Vec::new(),
        };
        visit_mut::visit_expr_mut(self, e);
        if found.is_empty() || has_let(e) {
            return;
        }
        let changed = match &*e {
            Expr::Binary(b) => self.binary(b, &found),
            Expr::Unary(u) => {
                let (id, op, operand) = (found[0].0, &u.op, &u.expr);
                self.placed.push(id);
                Some(parse_quote!((match (#operand) {
                    __x => if crate::mutant::on(#id) { __x } else { #op __x }
                })))
            }
            _ => None,
        };
        if let Some(changed) = changed {
            *e = changed;
        }
    }
}
