/** Shows the current failure of an endpoint, advice on it, and a link to replay its failed deliveries. */
import type { Attempt, EndpointWithHealth } from "../../client/operations.ts";
import { standingOfEndpoint } from "../../client/standing.ts";
import { HEALTH_COUNT_LIMIT } from "../../domain/endpoints/endpoint.ts";
import { adviceFor } from "../delivery/advice.ts";
import { MARKS, rich } from "../language/rich.tsx";
import { NewJob } from "../replay/new-job.tsx";
import { useCan, useRead } from "../session/session.ts";
import { t } from "../language/text.ts";

export function FailureNote({ endpoint }: { endpoint: EndpointWithHealth }) {
  const { consecutive_failures: row, failed } = endpoint.health;
  const mayReplay = useCan("replay");
  if (!endpoint.enabled || endpoint.damaged !== null) return null;
  if (row > 0) return <Failing endpoint={endpoint} />;
  if (failed === 0) return null;
  return (
    <div className="alert warn">
      <p>
        {rich("failure.wereFailed", { count: failed, atLeast: atLeast(failed), ...MARKS })}{" "}
        {t(AFTERWARDS[standingOfEndpoint(endpoint) === "working" ? "working" : "untried"][mayReplay ? 0 : 1])}
      </p>
      {mayReplay && <NewJob endpoint={endpoint.id} kind="failed" />}
    </div>
  );
}

/** Says how it went on: with the offer to replay, and without. */
const AFTERWARDS = {
  working: ["failure.worksReplay", "failure.works"],
  untried: ["failure.untriedReplay", "failure.untried"],
} as const;

function Failing({ endpoint }: { endpoint: EndpointWithHealth }) {
  const { id, health } = endpoint;
  const query = { outcome: "failed", limit: 1 };
  const { value } = useRead("listEndpointAttempts", { id, query }, id);
  const mayReplay = useCan("replay");
  const attempt = value?.data[0];
  const advice = attempt && adviceFor(attempt);
  return (
    <div className="alert bad" aria-live="polite">
      <div>
        <p>
          <strong>{advice?.problem ?? t("failure.latestFailed")}</strong>{" "}
          {health.pending > 0 ? t("failure.weKeepTrying") : t("failure.nothingWaits")}
        </p>
        {advice && <p>{advice.fix}</p>}
        {attempt?.error === "redirect_not_followed" && <Target attempt={attempt} />}
        {health.failed > 0 && (
          <p>{t("failure.permanently", { count: health.failed, atLeast: atLeast(health.failed) })}</p>
        )}
      </div>
      {mayReplay && health.failed > 0 && <NewJob endpoint={id} kind="failed" />}
    </div>
  );
}

/** Shows where a redirect leads to, as far as the answer says it. */
function Target({ attempt: { url, response_headers: headers } }: { attempt: Attempt }) {
  const location = Object.entries(headers).find(([name]) => name.toLowerCase() === "location")?.[1];
  const target = location === undefined ? null : URL.parse(location, url);
  if (target === null) return null;
  return <p>{rich("failure.leadsTo", { url: <code>{target.href}</code> })}</p>;
}

/** The daemon stops counting at the limit. */
function atLeast(failed: number): string {
  return failed >= HEALTH_COUNT_LIMIT ? t("failure.atLeast") : "";
}
