/** The settings that few endpoints need: limits, a name of the customer's own, and metadata. */
import { type ComponentProps, useState } from "react";
import { useSession } from "../session/session.ts";
import type { Draft } from "./draft.ts";
import { METADATA_EXAMPLE } from "./metadata.ts";
import { TextField } from "./text-field.tsx";
import { t } from "../language/text.ts";
import type { WordKey } from "../language/catalogue.ts";

type Line = "rate" | "atOnce" | "uid";
type More = Pick<Draft, Line | "metadata">;
type Named = "rate_per_second" | "max_in_flight" | "uid" | "metadata";

interface Props {
  readonly draft: More;
  /** Returns what is wrong with the field that the API calls so. */
  readonly refused: (name: Named) => string | undefined;
  readonly change: (part: Partial<More>) => void;
}

interface Field extends Pick<ComponentProps<typeof TextField>, "id" | "inputMode" | "maxLength"> {
  readonly label: WordKey;
  readonly help: WordKey;
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
    label: "more.rate",
    inputMode: "decimal",
    help: "more.rateHelp",
  },
  {
    part: "atOnce",
    name: "max_in_flight",
    id: "at-once",
    label: "more.atOnce",
    inputMode: "numeric",
    help: "more.atOnceHelp",
  },
  {
    part: "uid",
    name: "uid",
    id: "uid",
    label: "more.uid",
    maxLength: 64,
    help: "more.uidHelp",
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
      <summary>{t("more.limitsAnIdOfYour")}</summary>
      <div className="stack">
        {FIELDS.map(({ part, name, label, help, isOfAll = false, ...field }) => (
          <TextField
            key={part}
            {...field}
            label={t(label)}
            readOnly={isOfAll && isForSome}
            text={draft[part]}
            refusal={refused(name)}
            help={isOfAll && isForSome ? t("more.forSome") : t(help)}
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
        {t("more.metadata")} <span className="quiet">{t("common.optional")}</span>
      </label>
      <textarea
        id="metadata"
        spellCheck={false}
        placeholder={METADATA_EXAMPLE}
        value={text}
        aria-invalid={wrong !== undefined}
        aria-describedby="metadata-help"
        onChange={({ target }) => change(target.value)}
      />
      <p id="metadata-help" className={wrong ? "help wrong" : "help"}>
        {wrong ?? t("more.metadataHelp")}
      </p>
    </div>
  );
}
