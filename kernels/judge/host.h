// The C interface of the judge built for the CPU.
#pragma once

#include <utility>

#include "judge/params.h"

extern "C" {
// Judges one row of a launch; `chunks` is how many states a lane has, or 0 for as many as there are.
void holdfast_judge_row(int complex, int chunks, const holdfast_judge::JudgeParams* params, long long row);
// Judges the values of a function, by number, at `count` arguments: see judge_values.
void holdfast_judge_function(int function, unsigned first, unsigned stride, unsigned count, const float* values,
                             const holdfast_judge::FunctionRules* rules, holdfast_judge::FunctionTally* tally, unsigned* open,
                             unsigned* near_ties);
}
