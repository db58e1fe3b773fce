// What a foreign header of coefficients finds under this name: the methods by number (spec.md, section 2). Left out where
// the header brings its own; the harness asks for methods by number either way.
#pragma once

#if !defined(HOLDFAST_HEADER_HAS_METHODS)
enum DiscretizationMethod {
  DISCRETIZATION_ZOH = 0,
  DISCRETIZATION_FOH = 1,
  DISCRETIZATION_BILINEAR = 2,
  DISCRETIZATION_POLY = 3,
  DISCRETIZATION_HIGHORDER = 4,
  DISCRETIZATION_RK4 = 5,
};
#endif
