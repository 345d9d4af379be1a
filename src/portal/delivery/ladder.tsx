/** Shows the ladder of a delivery: the attempts made, the next one with its time, and the remaining ones. */
import type { Attempt, Delivery } from "../../client/operations.ts";
import { shortSpan } from "../parts/span.ts";
import { Until } from "../parts/time.tsx";
import { useSession } from "../session/session.ts";
import { shortCause } from "./words.ts";
import { t } from "../language/text.ts";

type Step = "good" | "bad" | "next" | "left" | "none";

export function Ladder({ delivery, attempts }: { delivery: Delivery; attempts: readonly Attempt[] }) {
  const { retry_schedule: delays } = useSession().portal;
  const made = new Map(
    attempts
      .filter(({ round, retry }) => round === delivery.round && retry !== null)
      .map((attempt) => [attempt.retry!, attempt]),
  );
  const steps = Array.from({ length: delays.length + 1 }, (_, place) => stepOf(place, made.get(place), delivery));
  return (
    <ol className="ladder" aria-label={t("ladder.attemptsOfThisRound")}>
      {steps.map((step, place) => (
        <li key={place} className={step}>
          <i aria-hidden="true" />
          <span className="name">{place === 0 ? t("ladder.first") : t("ladder.retry", { place })}</span>
          <span className="quiet">
            <Words step={step} attempt={made.get(place)} delay={delays[place - 1]} nextAt={delivery.next_attempt_at} />
          </span>
        </li>
      ))}
    </ol>
  );
}

function stepOf(place: number, attempt: Attempt | undefined, { status, retry }: Delivery): Step {
  if (status === "pending" && retry === place) return "next";
  if (attempt !== undefined) return attempt.outcome === "succeeded" ? "good" : "bad";
  return (status === "pending" || status === "held") && retry !== null && place > retry ? "left" : "none";
}

interface WordsProps {
  readonly step: Step;
  readonly attempt: Attempt | undefined;
  readonly delay: number | undefined;
  readonly nextAt: string | null;
}

function Words({ step, attempt, delay, nextAt }: WordsProps) {
  if (step === "next") return nextAt === null ? t("ladder.next") : <Until at={nextAt} />;
  if (attempt !== undefined) return attempt.status_code ?? shortCause(attempt);
  if (step === "left" && delay !== undefined) return t("ladder.later", { span: shortSpan(delay * 1000) });
  return t("ladder.notNeeded");
}
