/** The settings that say how events are sent: the format of the body, and their order. */
import { useState } from "react";
import { EMPTY, type Draft } from "./draft.ts";

type Sending = Pick<Draft, "format" | "ordering" | "afterFailure">;

interface Props {
  readonly draft: Sending;
  /** Returns what is wrong with the field that the API calls so. */
  readonly refused: (name: "format" | "ordering" | "after_failure") => string | undefined;
  readonly change: (part: Partial<Sending>) => void;
}

export const FORMATS = {
  envelope: ["Usual body", "The event's id, type and time, with its data in “data”."],
  cloudevents: ["CloudEvents, structured", "A CloudEvent 1.0: one JSON object with the attributes and the data."],
  cloudevents_binary: ["CloudEvents, binary", "The data alone as the body. The attributes are in the ce-… headers."],
  data: ["Data alone", "Only the event's data, without its id, type and time."],
} as const satisfies Readonly<Record<Sending["format"], readonly [string, string]>>;

export const ORDERINGS = {
  none: [
    "As fast as possible",
    "An event does not wait for another one, so a later event can arrive before an earlier one.",
  ],
  by_key: [
    "In order, by key",
    "Events about the same object arrive one after another. While one is retried, later ones about it wait. It applies to events from now on that come with an ordering key.",
  ],
} as const satisfies Readonly<Record<Sending["ordering"], readonly [string, string]>>;

const AFTER_FAILURE = {
  continue: [
    "Go on with the next one",
    "The event that failed can be replayed later, and then arrives after newer ones.",
  ],
  hold: [
    "Hold the later ones",
    "Nothing more about the same object is sent until you replay the event that failed, or cancel it.",
  ],
} as const satisfies Readonly<Record<Sending["afterFailure"], readonly [string, string]>>;

export function SendingField({ draft, refused, change }: Props) {
  const { format, ordering, afterFailure } = draft;
  const [isOpen, setOpen] = useState(
    format !== EMPTY.format || ordering !== EMPTY.ordering || afterFailure !== EMPTY.afterFailure,
  );
  const isWrong = [refused("format"), refused("ordering"), refused("after_failure")].some(Boolean);
  return (
    <details className="field" open={isOpen || isWrong} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Format of the body, order of events</summary>
      <div className="stack">
        <Chosen
          id="format"
          label="Format of the body"
          all={FORMATS}
          chosen={format}
          refusal={refused("format")}
          change={(one) => change({ format: one })}
        />
        <Chosen
          id="ordering"
          label="Order of events"
          all={ORDERINGS}
          chosen={ordering}
          refusal={refused("ordering")}
          change={(one) => change({ ordering: one })}
        />
        {ordering === "by_key" && (
          <Chosen
            id="after-failure"
            label="If an event has failed for good"
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
  readonly all: Readonly<Record<Value, readonly [word: string, help: string]>>;
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
            {all[value][0]}
          </option>
        ))}
      </select>
      <p id={`${id}-help`} className={refusal ? "help wrong" : "help"}>
        {/* A newer daemon may have a value that this page does not know. */}
        {refusal ?? all[chosen]?.[1]}
      </p>
    </div>
  );
}
