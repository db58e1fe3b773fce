// The C interface of the judge built for the CPU.
#pragma once

#include "judge/params.h"

extern "C" {
// Judges one row of a launch; `chunks` is how many states a lane has, or 0 for as many as there are.
void holdfast_judge_row(int complex, int chunks, const holdfast_judge::JudgeParams* params, long long row);
}
