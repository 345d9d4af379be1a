/** Lists all endpoints with their states. */
import { isPattern } from "../../domain/events/pattern.ts";
import { useState } from "react";
import type { ListedEndpoint } from "../../client/operations.ts";
import { counted } from "../../domain/wording.ts";
import { Button } from "../parts/button.tsx";
import { Empty, Loading, Trouble } from "../parts/states.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { Status } from "../parts/status.tsx";
import { Ago } from "../parts/time.tsx";
import { NONE } from "../server/reads.ts";
import { useCan, useRead, useSession } from "../session/session.ts";
import { useTitle } from "../session/title.ts";
import { afterMessage } from "./row-changes.ts";
import { shortUrl, standingWords } from "./standing.ts";

const PAGE = 20;

export function EndpointList() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const { portal } = useSession();
  useTitle("Endpoints");
  const { value, fault, again } = useRead(
    "listEndpoints",
    { query: { limit: PAGE, cursor: cursors.at(-1), include: "health,recent,failing", total: true } },
    null,
    afterMessage,
  );
  const mayAdd = useCan("manage") && portal.endpoints === null;
  if (value === undefined) return fault === undefined ? <Loading lines={5} /> : <Trouble fault={fault} again={again} />;
  if (value.data.length === 0 && cursors.length === 0) return <NoEndpoints mayAdd={mayAdd} />;
  return (
    <>
      <div className="title">
        <h1>Endpoints</h1>
        {mayAdd && (
          <a className="button primary" href="#/new">
            Add an endpoint
          </a>
        )}
      </div>
      <ul className="card endpoints">
        {value.data.map((endpoint) => (
          <Row key={endpoint.id} endpoint={endpoint} />
        ))}
      </ul>
      <nav className="pages" aria-label="Pages">
        {cursors.length > 0 && <Button onClick={() => setCursors(cursors.slice(0, -1))}>Newer</Button>}
        {value.next_cursor !== null && (
          <Button onClick={() => setCursors([...cursors, value.next_cursor!])}>Older</Button>
        )}
      </nav>
    </>
  );
}

function NoEndpoints({ mayAdd }: { mayAdd: boolean }) {
  return (
    <Empty title="No endpoints yet">
      <p>An endpoint is a URL of yours. When something you chose happens, we send it there.</p>
      {mayAdd && (
        <a className="button primary" href="#/new">
          Add an endpoint
        </a>
      )}
    </Empty>
  );
}

function Row({ endpoint }: { endpoint: ListedEndpoint }) {
  const { portal, tenant } = useSession();
  const { health, recent } = endpoint;
  const standing = health && standingWords({ ...endpoint, health });
  const types = useRead("listEventTypes", {}, NONE).value?.data ?? [];
  const isLeaving = types.some(({ name, deprecated }) => deprecated && endpoint.events.includes(name));
  const patterns = endpoint.events.filter(isPattern);
  const events =
    endpoint.events.length === 1 || patterns.length > 0
      ? endpoint.events.join(", ")
      : counted(endpoint.events.length, "event type", "event types");
  return (
    <li>
      <a className="who" href={`#/${endpoint.id}`}>
        <bdi className="url">{shortUrl(endpoint.url)}</bdi>
        <span className="quiet">
          {portal.tenant === "*" && tenant === undefined && `${endpoint.tenant} · `}
          <bdi>{endpoint.description === "" ? events : endpoint.description}</bdi>
          {isLeaving && " · receives a deprecated event type"}
        </span>
      </a>
      <div className="standing">
        {standing && <Status tone={standing.tone}>{standing.word}</Status>}
        <span className="quiet">
          {health &&
            (health.last_success_at === null ? "never succeeded" : <LastSuccess at={health.last_success_at} />)}
        </span>
      </div>
      <div className="day">
        {recent && (
          <Sparkline bars={recent.succeeded.map((succeeded, at) => ({ succeeded, failed: recent.failed[at]! }))} />
        )}
      </div>
    </li>
  );
}

function LastSuccess({ at }: { at: string }) {
  return (
    <>
      succeeded <Ago at={at} />
    </>
  );
}
