/** Shows the current failure of an endpoint, advice on it, and a link to replay its failed deliveries. */
import type { Attempt, EndpointWithHealth } from "../../client/operations.ts";
import { standingOfEndpoint } from "../../client/standing.ts";
import { adviceOnAttempt } from "../../client/advice.ts";
import { counted } from "../../domain/wording.ts";
import { HEALTH_COUNT_LIMIT } from "../../domain/endpoints/endpoint.ts";
import { NewJob } from "../replay/new-job.tsx";
import { useCan, useRead } from "../session/session.ts";

export function FailureNote({ endpoint }: { endpoint: EndpointWithHealth }) {
  const { consecutive_failures: row, failed } = endpoint.health;
  const mayReplay = useCan("replay");
  if (!endpoint.enabled || endpoint.damaged !== null) return null;
  if (row > 0) return <Failing endpoint={endpoint} />;
  if (failed === 0) return null;
  return (
    <div className="alert warn">
      <p>
        <strong>{failedText(failed)} failed</strong> while this endpoint was not accepting them.{" "}
        {standingOfEndpoint(endpoint) === "working" ? "It works again" : "It was enabled again, but not tried since"}
        {mayReplay ? ", and they can be sent again." : "."}
      </p>
      {mayReplay && <NewJob endpoint={endpoint.id} what="failed" />}
    </div>
  );
}

function Failing({ endpoint }: { endpoint: EndpointWithHealth }) {
  const { id, health } = endpoint;
  const query = { outcome: "failed", limit: 1 };
  const { value } = useRead("listEndpointAttempts", { id, query }, id);
  const mayReplay = useCan("replay");
  const attempt = value?.data[0];
  const advice = attempt && adviceOnAttempt(attempt).owner;
  return (
    <div className="alert bad" aria-live="polite">
      <div>
        <p>
          <strong>{advice?.problem ?? "The latest attempts have failed."}</strong>{" "}
          {health.pending > 0 ? "We keep trying." : "Nothing is waiting for another attempt."}
        </p>
        {advice && <p>{advice.fix}</p>}
        {attempt?.error === "redirect_not_followed" && <Target attempt={attempt} />}
        {health.failed > 0 && <p>{failedText(health.failed)} failed permanently and can be replayed.</p>}
      </div>
      {mayReplay && health.failed > 0 && <NewJob endpoint={id} what="failed" />}
    </div>
  );
}

/** Shows where a redirect leads to, as far as the answer says it. */
function Target({ attempt: { url, response_headers: headers } }: { attempt: Attempt }) {
  const location = Object.entries(headers).find(([name]) => name.toLowerCase() === "location")?.[1];
  const target = location === undefined ? null : URL.parse(location, url);
  if (target === null) return null;
  return (
    <p>
      It leads to <code>{target.href}</code>
    </p>
  );
}

/** The daemon stops counting at the limit. */
function failedText(failed: number): string {
  const text = counted(failed, "delivery has", "deliveries have");
  return failed >= HEALTH_COUNT_LIMIT ? `At least ${text}` : text;
}
