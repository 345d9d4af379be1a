import type { CaseElsewhere, Cases } from "./case.ts";

/** `doctor` reports an unreachable daemon as a finding and not as an error, so the common cases do not fit. */
export const DOCTOR_CASES: Cases<"doctor", CaseElsewhere> = {
  doctor: { words: ["--offline"], testedIn: "test/cli/doctor.test.ts" },
};
