/** The fields of one condition: what it looks at, how it compares, and with what. */
import { useState } from "react";
import { Button } from "../parts/button.tsx";
import type { FilterFault } from "./draft.ts";
import { pathOf, type Field } from "./fields.ts";
import { operatorOf, operatorsFor, type Kind } from "./operators.ts";
import { pointerOf, type Row } from "./rows.ts";
import { t } from "../language/text.ts";
import type { WordKey } from "../language/catalogue.ts";

interface Props {
  readonly number: number;
  readonly row: Row;
  readonly fields: readonly Field[];
  readonly faults: readonly FilterFault[];
  readonly change: (row: Row) => void;
  /** Null for the only row. */
  readonly remove: (() => void) | null;
}

export function RowFields({ number, row, fields, faults, change, remove }: Props) {
  const id = `condition-${number}`;
  const field = fields.find(({ pointer }) => pointer === pointerOf(row.path));
  const { takes, isNumeric = false } = operatorOf(row.operator);
  // A filter does not tell an amount from a number.
  const kind = field?.kind === "amount" && row.kind === "number" ? "amount" : row.kind;
  const common = { "aria-invalid": faults.length > 0, "aria-describedby": `${id}-says` };
  return (
    <li>
      <div className="condition">
        <FieldChoice {...{ number, row, fields, field, change }} isWrong={row.path.length === 0 && faults.length > 0} />
        <select
          aria-label={t("row.comparison", { number })}
          value={row.operator}
          onChange={({ target }) => change({ ...row, kind, operator: target.value })}
        >
          {operatorsFor(kind).map(({ id: one, words }) => (
            <option key={one} value={one}>
              {t(words)}
            </option>
          ))}
        </select>
        {takes === "nothing" ? <span /> : <Value {...{ number, row, field, change, common }} />}
        {remove && (
          <Button kind="quiet" aria-label={t("row.removeOne", { number })} onClick={remove}>
            {t("common.remove")}
          </Button>
        )}
      </div>
      <div id={`${id}-says`}>
        {takes === "list" && faults.length === 0 && <p className="help">{t("row.separateTheValuesByCommas")}</p>}
        {field?.kind === "amount" && takes === "value" && !isNumeric && (
          <p className="help">{t("row.asWritten", { example: field.examples[0]! })}</p>
        )}
        {faults.map(({ pointer, text }) => (
          <p key={pointer + text} className="help wrong">
            {pointer !== "" && <code>{pointer}</code>} {text}
          </p>
        ))}
      </div>
    </li>
  );
}

/** Stands for a field that is typed. */
const OTHER = "other";

interface FieldChoiceProps {
  readonly number: number;
  readonly row: Row;
  readonly fields: readonly Field[];
  readonly field: Field | undefined;
  readonly isWrong: boolean;
  readonly change: (row: Row) => void;
}

function FieldChoice({ number, row, fields, field, isWrong, change }: FieldChoiceProps) {
  const [isTyped, setTyped] = useState(false);
  const isOther = isTyped || (field === undefined && row.path.length > 0);
  const choose = (pointer: string) => {
    setTyped(pointer === OTHER);
    const chosen = fields.find((one) => one.pointer === pointer);
    if (chosen !== undefined) change(ofKind({ ...row, path: chosen.path }, chosen.kind));
  };
  return (
    <div className="stack">
      <select
        aria-label={t("row.field", { number })}
        aria-invalid={isWrong}
        aria-describedby={`condition-${number}-says`}
        value={isOther ? OTHER : pointerOf(row.path)}
        onChange={({ target }) => choose(target.value)}
      >
        <option value="" disabled>
          {t("row.chooseAField")}
        </option>
        {fields.map(({ pointer, name, examples }) => (
          <option key={pointer} value={pointer}>
            {name}
            {pointer !== "/type" && examples.length > 0 && ` (${examples[0]!.slice(0, LONGEST_EXAMPLE)})`}
          </option>
        ))}
        <option value={OTHER}>{t("row.anotherField")}</option>
      </select>
      {isOther && <OtherField {...{ number, row, change }} />}
    </div>
  );
}

const LONGEST_EXAMPLE = 24;
const KINDS: readonly (readonly [kind: Kind, word: WordKey])[] = [
  ["text", "row.text"],
  ["number", "row.number"],
  ["boolean", "row.boolean"],
  ["instant", "row.time"],
];

function OtherField({ number, row, change }: Pick<Props, "number" | "row" | "change">) {
  const [typed, setTyped] = useState(row.path.slice(row.path[0] === "data" ? 1 : 0).join("."));
  const type = (text: string) => {
    setTyped(text);
    change({ ...row, path: pathOf(text) });
  };
  return (
    <>
      <input
        className="code"
        aria-label={t("row.fieldName", { number })}
        placeholder={"customer.country"}
        autoCapitalize="off"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => type(target.value)}
      />
      <select
        aria-label={t("row.fieldKind", { number })}
        value={row.kind}
        onChange={({ target }) => change(ofKind(row, target.value as Kind))}
      >
        {KINDS.map(([kind, word]) => (
          <option key={kind} value={kind}>
            {t(word)}
          </option>
        ))}
      </select>
    </>
  );
}

/** Keeps the comparison if the kind has it. */
function ofKind(row: Row, kind: Kind): Row {
  if (kind === row.kind) return row;
  const own = operatorsFor(kind);
  // A comparison that nobody chose gives way to the usual one of the kind.
  const isChosen = row.path.length > 0 && row.value !== "" && own.some(({ id }) => id === row.operator);
  return { ...row, kind, operator: isChosen ? row.operator : usual(kind), value: kind === "boolean" ? "true" : "" };
}

function usual(kind: Kind): string {
  return operatorsFor(kind)[0]!.id;
}

interface ValueProps {
  readonly number: number;
  readonly row: Row;
  readonly field: Field | undefined;
  readonly change: (row: Row) => void;
  readonly common: object;
}

function Value({ number, row, field, change, common }: ValueProps) {
  const label = t("row.value", { number });
  const id = `value-${number}`;
  if (row.kind === "boolean")
    return (
      <select
        {...common}
        aria-label={label}
        value={row.value}
        onChange={({ target }) => change({ ...row, value: target.value })}
      >
        <option value="true">{"true"}</option>
        <option value="false">{"false"}</option>
      </select>
    );
  const examples = field?.examples ?? [];
  const isNumber = row.kind === "number" || row.kind === "amount";
  return (
    <>
      <input
        {...common}
        id={id}
        aria-label={label}
        list={isNumber ? undefined : `${id}-examples`}
        inputMode={isNumber ? "decimal" : "text"}
        placeholder={examples.length === 0 ? "" : t("row.suchAs", { example: examples[0]!.slice(0, LONGEST_EXAMPLE) })}
        autoCapitalize="off"
        autoComplete="off"
        spellCheck={false}
        value={row.value}
        onChange={({ target }) => change({ ...row, value: target.value })}
      />
      {!isNumber && (
        <datalist id={`${id}-examples`}>
          {examples.map((example) => (
            <option key={example} value={example} />
          ))}
        </datalist>
      )}
    </>
  );
}
