import type { DOCTOR } from "../../../cli/doctor/commands.ts";
import type { CaseElsewhere } from "./case.ts";

/** A daemon that cannot be asked is one of its findings, and no error. */
export const DOCTOR_CASES: { readonly [N in keyof typeof DOCTOR]: CaseElsewhere } = {
  doctor: { words: ["--offline"], testedIn: "test/cli/doctor.test.ts" },
};
