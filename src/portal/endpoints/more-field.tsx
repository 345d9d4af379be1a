/** The settings that few endpoints need: limits, a name of the customer's own, and metadata. */
import { type ComponentProps, useState } from "react";
import { useSession } from "../session/session.ts";
import type { Draft } from "./draft.ts";
import { TextField } from "./text-field.tsx";

type Line = "rate" | "atOnce" | "uid";
type More = Pick<Draft, Line | "metadata">;
type Named = "rate_per_second" | "max_in_flight" | "uid" | "metadata";

interface Props {
  readonly draft: More;
  /** Returns what is wrong with the field that the API calls so. */
  readonly refused: (name: Named) => string | undefined;
  readonly change: (part: Partial<More>) => void;
}

interface Field extends Pick<ComponentProps<typeof TextField>, "id" | "label" | "help" | "inputMode" | "maxLength"> {
  readonly part: Line;
  /** The name of the field in the API. */
  readonly name: Named;
  /** True if a link for some endpoints cannot change it. */
  readonly isOfAll?: boolean;
}

const FIELDS: readonly Field[] = [
  {
    part: "rate",
    name: "rate_per_second",
    id: "rate",
    label: "Requests per second",
    inputMode: "decimal",
    help: "At most this many requests start in a second. Without a number there is no limit.",
  },
  {
    part: "atOnce",
    name: "max_in_flight",
    id: "at-once",
    label: "Requests at once",
    inputMode: "numeric",
    help: "At most this many requests wait for your answer at a time. Without a number, it depends on how fast your receiver answers.",
  },
  {
    part: "uid",
    name: "uid",
    id: "uid",
    label: "Your own id",
    maxLength: 64,
    help: "Your programs can use it in place of our id. No two of your endpoints can have the same.",
    isOfAll: true,
  },
];

export function MoreField({ draft, refused, change }: Props) {
  const [isOpen, setOpen] = useState(FIELDS.some(({ part }) => draft[part] !== "") || draft.metadata !== "");
  const isForSome = useSession().portal.endpoints !== null;
  const wrong = refused("metadata");
  const isWrong = wrong !== undefined || FIELDS.some(({ name }) => refused(name) !== undefined);
  return (
    <details className="field" open={isOpen || isWrong} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Limits, an id of your own, metadata</summary>
      <div className="stack">
        {FIELDS.map(({ part, name, help, isOfAll = false, ...field }) => (
          <TextField
            key={part}
            {...field}
            readOnly={isOfAll && isForSome}
            text={draft[part]}
            refusal={refused(name)}
            help={isOfAll && isForSome ? "This link is for some endpoints only, so it cannot change this." : help}
            change={(text) => change({ [part]: text })}
          />
        ))}
        <MetadataField text={draft.metadata} wrong={wrong} change={(text) => change({ metadata: text })} />
      </div>
    </details>
  );
}

interface MetadataProps {
  readonly text: string;
  readonly wrong: string | undefined;
  readonly change: (text: string) => void;
}

function MetadataField({ text, wrong, change }: MetadataProps) {
  return (
    <div className="field">
      <label htmlFor="metadata">
        Metadata <span className="quiet">(optional)</span>
      </label>
      <textarea
        id="metadata"
        spellCheck={false}
        placeholder='{"team": "billing"}'
        value={text}
        aria-invalid={wrong !== undefined}
        aria-describedby="metadata-help"
        onChange={({ target }) => change(target.value)}
      />
      <p id="metadata-help" className={wrong ? "help wrong" : "help"}>
        {wrong ?? "A JSON object for your own use. It is kept with the endpoint, and is not sent."}
      </p>
    </div>
  );
}
