/** The catalogue: every event type with its description, schema and sample, and which endpoints get it. */
import { useState } from "react";
import type { EventType } from "../../client/operations.ts";
import { counted } from "../../domain/wording.ts";
import { shortUrl } from "../endpoints/standing.ts";
import { Code } from "../parts/code.tsx";
import { FindText, NothingFound } from "../parts/find.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { Deprecated } from "../parts/status.tsx";
import { NONE } from "../server/reads.ts";
import { useFilters } from "../session/route.ts";
import { useRead } from "../session/session.ts";
import { useTitle } from "../session/title.ts";

const SOME = 20;

export function TypeCatalogue() {
  useTitle("Event types");
  const [filters] = useFilters();
  const { value, fault, again } = useRead("listEventTypes", {}, NONE);
  if (value === undefined) return fault === undefined ? <Loading lines={6} /> : <Trouble fault={fault} again={again} />;
  const text = (filters.get("find") ?? "").toLowerCase();
  const found = value.data.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(text));
  return (
    <>
      <div className="title">
        <h1>Event types</h1>
      </div>
      <div className="stack">
        <div className="find">
          <FindText placeholder="Part of a name or a description" />
        </div>
        <p className="quiet" role="status">
          {counted(found.length, "event type", "event types")}
          {text !== "" && " found"}
        </p>
        {found.length === 0 ? (
          <NothingFound what="event type" />
        ) : (
          <ul className="types card">
            {found.map((one) => (
              <Type key={one.name} type={one} />
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function Type({
  type: { name, description, schema, sample, archived, deprecated, deprecated_at: since, sunset_at: until },
}: {
  type: EventType;
}) {
  const [open, setOpen] = useState(false);
  const day = (instant: string) => instant.slice(0, 10);
  return (
    <li>
      <div>
        <h2>
          <code>{name}</code> {deprecated && <Deprecated />}
        </h2>
        <p className="quiet" dir="auto">
          {description}
        </p>
        {(archived || since !== null) && (
          <p className="quiet">
            {since !== null && <>Deprecated since {day(since)}. </>}
            {until !== null && <>Its events are expected to end on {day(until)}. </>}
            {archived && <>Archived: no endpoint can choose it any more.</>}
          </p>
        )}
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary className="quiet">Sample, schema, and who gets it</summary>
          {open && (
            <div className="stack">
              <Receivers type={name} />
              <h3>A sample of its data</h3>
              <Code text={JSON.stringify(sample, null, 2)} label={`Sample of ${name}`} isJson />
              <h3>JSON Schema of its data</h3>
              <Code text={JSON.stringify(schema, null, 2)} label={`Schema of ${name}`} isJson />
            </div>
          )}
        </details>
      </div>
    </li>
  );
}

function Receivers({ type }: { type: string }) {
  const query = { type, limit: SOME, total: true };
  const { value, fault, again } = useRead("listEndpoints", { query });
  if (value === undefined) return fault === undefined ? <Loading lines={1} /> : <Trouble fault={fault} again={again} />;
  if (value.data.length === 0) return <p>None of your endpoints gets it.</p>;
  return (
    <div>
      <p>
        {value.total === undefined
          ? "These endpoints get it"
          : `${counted(value.total, "endpoint gets", "endpoints get")} it`}
        , unless its filter leaves an event out or it is disabled:
      </p>
      <ul className="links">
        {value.data.map(({ id, url }) => (
          <li key={id}>
            <a href={`#/${id}`}>
              <bdi>{shortUrl(url)}</bdi>
            </a>
          </li>
        ))}
      </ul>
      {value.next_cursor !== null && <a href={`#/?type=${encodeURIComponent(type)}`}>See all of them</a>}
    </div>
  );
}
