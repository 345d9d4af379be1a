/** The settings that few endpoints need: limits, a name of the customer's own, and metadata. */
import { useState } from "react";
import { useSession } from "../session/session.ts";
import type { Draft } from "./draft.ts";
import { TextField } from "./text-field.tsx";

type More = Pick<Draft, "rate" | "atOnce" | "uid" | "metadata">;

interface Props {
  readonly draft: More;
  /** Returns what is wrong with the field that the API calls so. */
  readonly refused: (name: "rate_per_second" | "max_in_flight" | "uid" | "metadata") => string | undefined;
  readonly change: (part: Partial<More>) => void;
}

export function MoreField({ draft: { rate, atOnce, uid, metadata }, refused, change }: Props) {
  const [isOpen, setOpen] = useState([rate, atOnce, uid, metadata].some((text) => text !== ""));
  const isForSome = useSession().portal.endpoints !== null;
  const wrong = refused("metadata");
  const isWrong = [wrong, refused("rate_per_second"), refused("max_in_flight"), refused("uid")].some(Boolean);
  return (
    <details className="field" open={isOpen || isWrong} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Limits, an id of your own, metadata</summary>
      <div className="stack">
        <TextField
          id="rate"
          label="Requests per second"
          inputMode="decimal"
          text={rate}
          refusal={refused("rate_per_second")}
          help="At most this many requests start in a second. Without a number there is no limit."
          change={(text) => change({ rate: text })}
        />
        <TextField
          id="at-once"
          label="Requests at once"
          inputMode="numeric"
          text={atOnce}
          refusal={refused("max_in_flight")}
          help="At most this many requests wait for your answer at a time. Without a number, it depends on how fast your receiver answers."
          change={(text) => change({ atOnce: text })}
        />
        <TextField
          id="uid"
          label="Your own id"
          maxLength={64}
          readOnly={isForSome}
          text={uid}
          refusal={refused("uid")}
          help={
            isForSome
              ? "This link is for some endpoints only, so it cannot change this."
              : "Your programs can use it in place of our id. No two of your endpoints can have the same."
          }
          change={(text) => change({ uid: text })}
        />
        <MetadataField text={metadata} wrong={wrong} change={(text) => change({ metadata: text })} />
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
