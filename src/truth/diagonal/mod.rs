//! The truth for diagonal A, element by element: of one step and of the selective scan.

pub mod coefficient;
pub mod element;
pub mod rescue;
pub mod scan;
