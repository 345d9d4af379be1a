/** The field for the filter of an endpoint: conditions as rows, or JSON, and what they make of recent events. */
import type { EventType } from "../../client/operations.ts";
import { chosenOf } from "../../domain/events/pattern.ts";
import { Button } from "../parts/button.tsx";
import { Choices } from "../parts/choices.tsx";
import { NONE } from "../server/reads.ts";
import { useRead } from "../session/session.ts";
import { asJson, asRows, type FilterDraft, type FilterFault, type FilterReading } from "./draft.ts";
import { fieldsOf } from "./fields.ts";
import { RowFields } from "./row-fields.tsx";
import { BLANK, type Join, type Row } from "./rows.ts";
import { Trial, useEvents } from "./trial.tsx";
import { t } from "../language/text.ts";
import { rich } from "../language/rich.tsx";

interface Props {
  readonly draft: FilterDraft;
  readonly reading: FilterReading;
  /** The mistakes to show: those of the draft, or those that the daemon found. */
  readonly faults: readonly FilterFault[];
  /** The names of the types that are chosen, with patterns. */
  readonly events: readonly string[];
  /** Null for a new endpoint. */
  readonly endpoint: string | null;
  readonly change: (draft: FilterDraft) => void;
}

const WHICH = [
  ["all", "filter.all"],
  ["some", "filter.some"],
] as const;

export function FilterField({ draft, reading, faults, events, endpoint, change }: Props) {
  const general = faults.filter(({ row }) => row === null);
  const isOn = draft.view !== "none";
  const show = (which: "all" | "some") => {
    if (which === "all") change({ ...draft, view: "none" });
    else if (!isOn) change(asRows(draft) ?? { ...draft, view: "json" });
  };
  return (
    <fieldset className="field filter">
      <legend>{t("filter.whichOfTheseEvents")}</legend>
      <Choices
        label={t("filter.whichOfTheseEvents")}
        all={WHICH.map(([one, key]) => [one, t(key)] as const)}
        chosen={isOn ? "some" : "all"}
        choose={show}
      />
      {!isOn && <p className="help">{t("filter.everyEventOfTheTypes")}</p>}
      {isOn && <Conditions {...{ draft, reading, faults, events, endpoint, change }} />}
      {general.map(({ pointer, text }) => (
        <p key={pointer + text} className="help wrong">
          {pointer !== "" && <code>{pointer}</code>} {text}
        </p>
      ))}
    </fieldset>
  );
}

function Conditions({ draft, reading, faults, events, endpoint, change }: Props) {
  const types = useTypes(events);
  const recent = useEvents(
    events,
    types.map(({ name }) => name),
    endpoint,
  );
  return (
    <>
      {draft.view === "json" ? (
        <Json text={draft.text} isWrong={faults.length > 0} change={(text) => change({ ...draft, text })} />
      ) : (
        <RowList
          draft={draft}
          faults={faults}
          fields={fieldsOf(types, recent.events)}
          change={(part) => change({ ...draft, ...part })}
        />
      )}
      <Switch draft={draft} change={change} />
      <Trial {...{ reading, recent }} rows={draft.view === "rows" ? draft.rows : []} />
    </>
  );
}

/** The types that the endpoint gets today. */
function useTypes(events: readonly string[]): readonly EventType[] {
  const all = useRead("listEventTypes", {}, NONE).value?.data ?? [];
  const names = new Set(
    chosenOf(
      events,
      all.map(({ name }) => name),
    ),
  );
  return all.filter(({ name }) => names.has(name));
}

interface RowListProps {
  readonly draft: FilterDraft;
  readonly faults: readonly FilterFault[];
  readonly fields: ReturnType<typeof fieldsOf>;
  readonly change: (part: Partial<FilterDraft>) => void;
}

function RowList({ draft: { rows, join }, faults, fields, change }: RowListProps) {
  const set = (at: number, row: Row) => change({ rows: rows.with(at, row) });
  return (
    <>
      <ol className="conditions">
        {rows.map((row, at) => (
          <RowFields
            // A row has no identity beyond its place.
            key={at}
            number={at + 1}
            row={row}
            fields={fields}
            faults={faults.filter((fault) => fault.row === at)}
            change={(next) => set(at, next)}
            remove={rows.length === 1 ? null : () => change({ rows: rows.toSpliced(at, 1) })}
          />
        ))}
      </ol>
      <div className="actions start">
        <Button onClick={() => change({ rows: [...rows, BLANK] })}>{t("filter.addACondition")}</Button>
        {rows.length > 1 && (
          <select
            aria-label={t("filter.howManyConditionsMustHold")}
            value={join}
            onChange={({ target }) => change({ join: target.value as Join })}
          >
            <option value="all">{t("filter.allOfTheseMustHold")}</option>
            <option value="any">{t("filter.oneOfTheseMustHold")}</option>
          </select>
        )}
      </div>
    </>
  );
}

const EXAMPLE = '{"data": {"spent": {"value": {"$gt": 1000}, "currency": "EUR"}}}';

interface JsonProps {
  readonly text: string;
  readonly isWrong: boolean;
  readonly change: (text: string) => void;
}

function Json({ text, isWrong, change }: JsonProps) {
  return (
    <div className="field">
      <label htmlFor="filter">{t("common.filter")}</label>
      <textarea
        id="filter"
        dir="ltr"
        spellCheck={false}
        placeholder={EXAMPLE}
        value={text}
        aria-invalid={isWrong}
        aria-describedby="filter-help"
        onChange={({ target }) => change(target.value)}
      />
      <p id="filter-help" className="help">
        {rich("filter.jsonHelp", { example: <code>{EXAMPLE}</code> })}
      </p>
    </div>
  );
}

/** Leads from rows to JSON and back. */
function Switch({ draft, change }: Pick<Props, "draft" | "change">) {
  if (draft.view === "rows")
    return (
      <p className="help">
        <button type="button" className="as-link" onClick={() => change(asJson(draft))}>
          {t("filter.writeItAsJson")}
        </button>
      </p>
    );
  const rows = asRows(draft);
  return (
    <p className="help">
      {rows === null ? (
        t("filter.saysMore")
      ) : (
        <button type="button" className="as-link" onClick={() => change(rows)}>
          {t("filter.showItAsConditions")}
        </button>
      )}
    </p>
  );
}
