/** Shows one attempt and the response to it. */
import type { Attempt } from "../../client/operations.ts";
import { adviceFor } from "./advice.ts";
import { Code, Copy } from "../parts/code.tsx";
import { Status } from "../parts/status.tsx";
import { At } from "../parts/time.tsx";
import { answerText, triggerText } from "./words.ts";
import { t, fixed } from "../language/text.ts";

export function AttemptRow({ attempt, open }: { attempt: Attempt; open: boolean }) {
  const { number, outcome, duration_ms: took, started_at: at } = attempt;
  const advice = adviceFor(attempt);
  const tone = outcome === "succeeded" ? "good" : outcome === "failed" ? "bad" : "off";
  return (
    <li>
      <details open={open}>
        <summary>
          <span className="number quiet">{number}</span>
          <Status tone={tone}>{answerText(attempt)}</Status>
          <span className="quiet">{triggerText(attempt)}</span>
          <span className="quiet end">
            <At at={at} /> · {durationText(took)}
          </span>
        </summary>
        <div className="stack">
          {outcome === "failed" && (
            <p className="quiet">
              {advice.problem} {advice.fix}
            </p>
          )}
          <AttemptAnswer attempt={attempt} />
        </div>
      </details>
    </li>
  );
}

export function AttemptAnswer({ attempt }: { attempt: Attempt }) {
  const {
    response_headers: headers,
    response_body: body,
    response_truncated: isCut,
    remote_address: address,
  } = attempt;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <>
      <dl className="pairs">
        <dt>{t("attempt.sentTo")}</dt>
        <dd>
          {"POST "}
          <bdi>{attempt.url}</bdi> {address !== null && <span className="quiet">({address})</span>}
        </dd>
        <dt>{t("attempt.whatHappened")}</dt>
        <dd lang="en">{attempt.detail}</dd>
        <dt>{t("attempt.attempt")}</dt>
        <dd>
          <code>{attempt.id}</code> <Copy text={attempt.id} what={t("attempt.theAttemptsId")} />
        </dd>
      </dl>
      {lines.length > 0 && <p className="label">{t("attempt.responseHeaders")}</p>}
      {lines.length > 0 && <Code text={lines.join("\n")} label={t("attempt.responseHeaders")} copy={null} />}
      {body !== "" && <p className="label">{t("attempt.responseBody")}</p>}
      {body !== "" && <Code text={body} label={t("attempt.responseBody")} copy={null} />}
      {isCut && <p className="quiet">{t("attempt.onlyTheBeginningOfThe")}</p>}
    </>
  );
}

export function durationText(ms: number): string {
  if (ms < 1000) return t("duration.milliseconds", { count: Math.round(ms) });
  return t("duration.seconds", { count: fixed(ms / 1000, 1) });
}
