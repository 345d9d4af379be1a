/** The fields that find deliveries: by any id, a field of the data, the type, the error and the time. */
import { useEffect, useState } from "react";
import { ATTEMPT_ERRORS, causeText } from "../../domain/deliveries/attempt.ts";
import { Button } from "../parts/button.tsx";
import { after } from "../server/clock.ts";
import { NONE } from "../server/reads.ts";
import { useFilters } from "../session/route.ts";
import { useRead } from "../session/session.ts";
import { isNarrowed, NAMES } from "./search.ts";

/** People type several letters in this time. */
const PAUSE_MS = 350;

/** A text of the address that is typed. It gets there after a pause. */
export function useTyped(name: string): readonly [typed: string, type: (text: string) => void] {
  const [filters, set] = useFilters();
  const said = filters.get(name) ?? "";
  const [typed, type] = useState(said);
  const [last, setLast] = useState(said);
  // Somebody else changed the address: a link, or the button that shows all.
  if (said !== last) {
    setLast(said);
    if (said !== typed.trim()) type(said);
  }
  useEffect(() => {
    if (typed.trim() === said) return;
    return after(PAUSE_MS, () => set({ [name]: typed.trim() }));
  }, [typed]); // oxlint-disable-line
  return [typed, type];
}

export function Find() {
  const [filters, set] = useFilters();
  const [typed, type] = useTyped("find");
  const types = useRead("listEventTypes", {}, NONE).value?.data ?? [];
  const select = (name: string) => ({
    value: filters.get(name) ?? "",
    onChange: ({ target }: { target: { value: string } }) => set({ [name]: target.value }),
  });
  return (
    <div className="find">
      <label className="wide">
        <span className="quiet">Find</span>
        <input
          type="search"
          placeholder="Event id, your own id, or customer.id:cus_123"
          autoComplete="off"
          spellCheck={false}
          maxLength={256}
          value={typed}
          onChange={({ target }) => type(target.value)}
        />
      </label>
      <label>
        <span className="quiet">Event type</span>
        <select {...select("type")}>
          <option value="">All</option>
          {types.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        <span className="quiet">Last error</span>
        <select {...select("error")}>
          <option value="">Any</option>
          {ATTEMPT_ERRORS.map((error) => (
            <option key={error} value={error}>
              {error === "http_status" ? "a status other than 2xx" : causeText(error, null)}
            </option>
          ))}
        </select>
      </label>
      <div className="period">
        <Instant name="since" label="From" />
        <Instant name="until" label="To" />
      </div>
      {isNarrowed(filters) && (
        <Button kind="quiet" onClick={() => set(Object.fromEntries(NAMES.map((name) => [name, ""])))}>
          Clear
        </Button>
      )}
    </div>
  );
}

function Instant({ name, label }: { name: string; label: string }) {
  const [filters, set] = useFilters();
  const said = filters.get(name);
  const change = (local: string) => {
    const time = new Date(local).getTime();
    set({ [name]: Number.isNaN(time) ? "" : new Date(time).toISOString() });
  };
  return (
    <label>
      <span className="quiet">{label}</span>
      <input type="datetime-local" value={localOf(said)} onChange={({ target }) => change(target.value)} />
    </label>
  );
}

/** The field shows the reader's own time zone. */
function localOf(instant: string | null): string {
  const time = instant === null ? Number.NaN : Date.parse(instant);
  if (Number.isNaN(time)) return "";
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
