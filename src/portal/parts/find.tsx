/** The fields that find something in a list. The address holds what they say, so a reload or a copied link shows it. */
import { useEffect, useState } from "react";
import { after } from "../server/clock.ts";
import { NONE } from "../server/reads.ts";
import { useFilters } from "../session/route.ts";
import { useRead } from "../session/session.ts";
import { Button } from "./button.tsx";
import { t } from "../language/text.ts";

/** People type several letters in this time. */
const PAUSE_MS = 350;

/** A text that is typed. It gets into the address after a pause. */
export function FindText({ placeholder }: { placeholder: string }) {
  const [filters, set] = useFilters();
  const said = filters.get("find") ?? "";
  const [typed, type] = useState(said);
  const [last, setLast] = useState(said);
  // A link or a button changed the address.
  if (said !== last) {
    setLast(said);
    if (said !== typed.trim()) type(said);
  }
  useEffect(() => {
    if (typed.trim() === said) return;
    return after(PAUSE_MS, () => set({ find: typed.trim() }));
  }, [typed]); // oxlint-disable-line
  return (
    <label className="wide">
      <span className="quiet">{t("find.find")}</span>
      <input
        type="search"
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        maxLength={256}
        value={typed}
        onChange={({ target }) => type(target.value)}
      />
    </label>
  );
}

interface SelectProps {
  /** The name of the filter in the address. */
  readonly name: string;
  readonly label: string;
  /** The value of the first one is empty, and does not filter. */
  readonly options: readonly (readonly [value: string, word: string])[];
}

export function FindSelect({ name, label, options }: SelectProps) {
  const [filters, set] = useFilters();
  return (
    <label>
      <span className="quiet">{label}</span>
      <select value={filters.get(name) ?? ""} onChange={({ target }) => set({ [name]: target.value })}>
        {options.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}

export function FindType() {
  const types = useRead("listEventTypes", {}, NONE).value?.data ?? [];
  const options = [["", t("find.all")], ...types.map(({ name }) => [name, name] as const)] as const;
  return <FindSelect name="type" label={t("common.eventType")} options={options} />;
}

export function isNarrowedBy(names: readonly string[], filters: URLSearchParams): boolean {
  return names.some((name) => filters.has(name));
}

/** Shows everything again. `names` are those of the filters in the address. */
export function Clear({ names }: { names: readonly string[] }) {
  const [filters, set] = useFilters();
  if (!isNarrowedBy(names, filters)) return null;
  return (
    <Button kind="quiet" onClick={() => set(Object.fromEntries(names.map((name) => [name, ""])))}>
      {t("find.clear")}
    </Button>
  );
}

/** `text` says what is not there. */
export function NothingFound({ text }: { text: string }) {
  return (
    <div className="empty slim">
      <h2>{t("find.nothingWasFound")}</h2>
      <p>{text}</p>
    </div>
  );
}
