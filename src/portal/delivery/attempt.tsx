/** Shows one attempt and the response to it. */
import type { Attempt } from "../../client/operations.ts";
import { adviceOnAttempt } from "../../client/advice.ts";
import { Code, Copy } from "../parts/code.tsx";
import { Status } from "../parts/status.tsx";
import { At } from "../parts/time.tsx";
import { answerText, triggerText } from "./words.ts";

export function AttemptRow({ attempt, open }: { attempt: Attempt; open: boolean }) {
  const { number, outcome, duration_ms: took, started_at: at } = attempt;
  const { owner } = adviceOnAttempt(attempt);
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
              {owner.problem} {owner.fix}
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
        <dt>Sent to</dt>
        <dd>
          POST <bdi>{attempt.url}</bdi> {address !== null && <span className="quiet">({address})</span>}
        </dd>
        <dt>What happened</dt>
        <dd>{attempt.detail}</dd>
        <dt>Attempt</dt>
        <dd>
          <code>{attempt.id}</code> <Copy text={attempt.id} what="the attempt's id" />
        </dd>
      </dl>
      {lines.length > 0 && <p className="label">Response headers</p>}
      {lines.length > 0 && <Code text={lines.join("\n")} label="Response headers" copy={null} />}
      {body !== "" && <p className="label">Response body</p>}
      {body !== "" && <Code text={body} label="Response body" copy={null} />}
      {isCut && <p className="quiet">Only the beginning of the body is kept.</p>}
    </>
  );
}

export function durationText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
