// The C interface of the judge built for the CPU.
#pragma once

#include "judge/params.h"

extern "C" {
// Judges one row of a launch.
void holdfast_judge_row(int complex, const holdfast_judge::JudgeParams* params, long long row);
}
