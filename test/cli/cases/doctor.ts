import type { CaseElsewhere, Cases } from "./case.ts";

/** A daemon that cannot be asked is one of its findings, and no error. */
export const DOCTOR_CASES: Cases<"doctor", CaseElsewhere> = {
  doctor: { words: ["--offline"], testedIn: "test/cli/doctor.test.ts" },
};
