/** The field for the filter of an endpoint. It shows the filter's effect on the newest events as the person types. */
import { useState } from "react";
import type { EventSummary } from "../../client/operations.ts";
import { type Decision, explain } from "../../domain/events/filter/evaluate.ts";
import type { Filter } from "../../domain/events/filter/filter.ts";
import { chooses } from "../../domain/events/pattern.ts";
import { excerptOf } from "../../domain/json/excerpt.ts";
import { Loading, Trouble } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { useRead, useSession } from "../session/session.ts";
import { filterIn } from "./draft.ts";

const EXAMPLE = '{"data": {"amount": {"$gt": 1000}, "currency": "EUR"}}';
const NEWEST = 20;

interface Props {
  readonly text: string;
  /** The names of the chosen types. */
  readonly events: readonly string[];
  /** Null for a new endpoint. */
  readonly endpoint: string | null;
  readonly refusal: string | undefined;
  readonly change: (text: string) => void;
}

export function FilterField({ text, events, endpoint, refusal, change }: Props) {
  const [open, setOpen] = useState(text !== "");
  const read = filterIn(text);
  const wrong = refusal ?? ("fault" in read ? read.fault : undefined);
  return (
    <details className="field" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Only some of these events</summary>
      <label htmlFor="filter">Filter</label>
      <textarea
        id="filter"
        dir="ltr"
        spellCheck={false}
        placeholder={EXAMPLE}
        value={text}
        aria-invalid={wrong !== undefined}
        aria-describedby="filter-help"
        onChange={({ target }) => change(target.value)}
      />
      <p id="filter-help" className={wrong === undefined ? "help" : "help wrong"}>
        {wrong ?? (
          <>
            JSON that looks like the event. For amounts above 1,000 in euros: <code>{EXAMPLE}</code>. Leave it empty to
            receive every event of the chosen types. A change applies to later events.
          </>
        )}
      </p>
      {open && "filter" in read && <Newest filter={read.filter} events={events} endpoint={endpoint} />}
    </details>
  );
}

interface NewestProps {
  readonly filter: Filter | null;
  readonly events: readonly string[];
  readonly endpoint: string | null;
}

function Newest({ filter, events, endpoint }: NewestProps) {
  const { portal } = useSession();
  // A link for only some endpoints sees the events of one of them at a time.
  const only = portal.endpoints === null ? undefined : (endpoint ?? undefined);
  const mayRead = portal.endpoints === null || only !== undefined;
  const query = { include: "data", limit: NEWEST, endpoint: only, test: false };
  const { value, fault, again } = useRead("listEvents", mayRead ? { query } : null);
  if (!mayRead) return null;
  if (value === undefined) return fault ? <Trouble fault={fault} again={again} /> : <Loading lines={3} />;
  const chosen = value.data.filter(({ type, data }) => chooses(events, type) && data);
  if (chosen.length === 0) return <p className="help">None of the newest events is of a chosen type.</p>;
  const results = chosen.map((event) => ({ event, ...resultOf(filter, event) }));
  const received = results.filter(({ matches }) => matches).length;
  return (
    <div role="group" aria-label="The newest events">
      <p className="help">
        Of the newest {chosen.length} events of the chosen types, this endpoint would have received {received}.
      </p>
      <ul className="types card">
        {results.map(({ event, matches, decided }) => (
          <li key={event.id}>
            <div>
              <code>{event.type}</code> <Ago at={event.created_at} />{" "}
              <strong>{matches ? "Received" : "Left out"}</strong>
              {!matches && <p className="quiet">{decided.map(whyText).join("; ")}</p>}
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}

function resultOf(filter: Filter | null, { type, data, tags }: EventSummary) {
  return filter === null ? { matches: true, decided: [] } : explain(filter, { type, data, tags });
}

/** Names the condition that decided, and the value that it found. */
function whyText({ pointer, path, found }: Decision): string {
  const value = found === undefined ? "missing" : excerptOf(found, 80);
  const operator = /\/\$[a-zA-Z]+/.exec(pointer.slice(pointer.lastIndexOf("/")))?.[0].slice(1);
  return `${path.slice(1).replaceAll("/", ".")} is ${value}${operator === undefined ? "" : `, by ${operator}`}`;
}
