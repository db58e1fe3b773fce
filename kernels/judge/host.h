// The C interface of the judge built for the CPU.
#pragma once

#include <utility>

#include "judge/params.h"

extern "C" {
// Judges one row of a launch; `chunks` is how many states a lane has, or 0 for as many as there are.
void holdfast_judge_row(int complex, int chunks, const holdfast_judge::JudgeParams* params, long long row);
// Judges the values of a function, by number: what a block of so many, each with so many threads, has to.
void holdfast_judge_function(int function, const holdfast_judge::FunctionParams* params, unsigned block, unsigned blocks, unsigned threads);
// Adds what was found at other arguments of the same sign.
void holdfast_merge_findings(holdfast_judge::FunctionFindings* found, const holdfast_judge::FunctionFindings* other);
}
