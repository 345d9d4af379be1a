/** The settings that say how events are sent: the format of the body, and their order. */
import { useState } from "react";
import { EMPTY, type Draft } from "./draft.ts";
import { t } from "../language/text.ts";
import type { WordKey } from "../language/catalogue.ts";

type Sending = Pick<Draft, "format" | "ordering" | "afterFailure">;

interface Props {
  readonly draft: Sending;
  /** Returns what is wrong with the field that the API calls so. */
  readonly refused: (name: "format" | "ordering" | "after_failure") => string | undefined;
  readonly change: (part: Partial<Sending>) => void;
}

export const FORMATS = {
  envelope: ["sending.envelope", "sending.envelopeHelp"],
  cloudevents: ["sending.cloudevents", "sending.cloudeventsHelp"],
  cloudevents_binary: ["sending.binary", "sending.binaryHelp"],
  data: ["sending.data", "sending.dataHelp"],
} as const satisfies Readonly<Record<Sending["format"], readonly [WordKey, WordKey]>>;

export const ORDERINGS = {
  none: ["sending.unordered", "sending.unorderedHelp"],
  by_key: ["sending.byKey", "sending.byKeyHelp"],
} as const satisfies Readonly<Record<Sending["ordering"], readonly [WordKey, WordKey]>>;

const AFTER_FAILURE = {
  continue: ["sending.continue", "sending.continueHelp"],
  hold: ["sending.hold", "sending.holdHelp"],
} as const satisfies Readonly<Record<Sending["afterFailure"], readonly [WordKey, WordKey]>>;

/** A newer daemon may have a value that this page does not know. */
export function wordIn<Value extends string>(
  all: Readonly<Record<Value, readonly [word: WordKey, help: WordKey]>>,
  value: Value,
): string {
  return value in all ? t(all[value][0]) : value;
}

export function SendingField({ draft, refused, change }: Props) {
  const { format, ordering, afterFailure } = draft;
  const [isOpen, setOpen] = useState(
    format !== EMPTY.format || ordering !== EMPTY.ordering || afterFailure !== EMPTY.afterFailure,
  );
  const isWrong = [refused("format"), refused("ordering"), refused("after_failure")].some(Boolean);
  return (
    <details className="field" open={isOpen || isWrong} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t("sending.formatOfTheBodyOrder")}</summary>
      <div className="stack">
        <Chosen
          id="format"
          label={t("sending.formatOfTheBody")}
          all={FORMATS}
          chosen={format}
          refusal={refused("format")}
          change={(one) => change({ format: one })}
        />
        <Chosen
          id="ordering"
          label={t("sending.orderOfEvents")}
          all={ORDERINGS}
          chosen={ordering}
          refusal={refused("ordering")}
          change={(one) => change({ ordering: one })}
        />
        {ordering === "by_key" && (
          <Chosen
            id="after-failure"
            label={t("sending.ifAnEventHasFailed")}
            all={AFTER_FAILURE}
            chosen={afterFailure}
            refusal={refused("after_failure")}
            change={(one) => change({ afterFailure: one })}
          />
        )}
      </div>
    </details>
  );
}

interface ChosenProps<Value extends string> {
  readonly id: string;
  readonly label: string;
  readonly all: Readonly<Record<Value, readonly [word: WordKey, help: WordKey]>>;
  readonly chosen: Value;
  readonly refusal: string | undefined;
  readonly change: (value: Value) => void;
}

function Chosen<Value extends string>({ id, label, all, chosen, refusal, change }: ChosenProps<Value>) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={chosen}
        aria-invalid={refusal !== undefined}
        aria-describedby={`${id}-help`}
        onChange={({ target }) => change(target.value as Value)}
      >
        {(Object.keys(all) as Value[]).map((value) => (
          <option key={value} value={value}>
            {wordIn(all, value)}
          </option>
        ))}
      </select>
      <p id={`${id}-help`} className={refusal ? "help wrong" : "help"}>
        {refusal ?? (chosen in all && t(all[chosen][1]))}
      </p>
    </div>
  );
}
