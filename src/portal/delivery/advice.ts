/** Says to the endpoint's owner why an attempt failed, and what helps. */
import { adviceOnAttempt } from "../../client/advice.ts";
import type { Attempt } from "../../client/operations.ts";
import { t } from "../language/text.ts";

export function adviceFor(attempt: Attempt): { readonly problem: string; readonly fix: string } {
  const { owner } = adviceOnAttempt(attempt);
  return { problem: t(`advice.${owner}.problem`), fix: t(`advice.${owner}.fix`) };
}
