/** The field for the event types of an endpoint: each type with its description and a sample. */
import type { EventType } from "../../client/operations.ts";
import { isPattern, matches } from "../../domain/events/pattern.ts";
import { Code } from "../parts/code.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { Deprecated } from "../parts/status.tsx";
import { NONE } from "../server/reads.ts";
import { useRead } from "../session/session.ts";
import { lifeText, patternNote } from "../types/notes.ts";
import { Choice } from "./choice.tsx";
import { t } from "../language/text.ts";

interface Props {
  readonly chosen: readonly string[];
  readonly refusal: string | undefined;
  readonly change: (chosen: readonly string[]) => void;
}

export function TypesField({ chosen, refusal, change }: Props) {
  const { value, fault, again } = useRead("listEventTypes", {}, NONE);
  if (value === undefined) return fault === undefined ? <Loading lines={6} /> : <Trouble fault={fault} again={again} />;
  // An archived type is shown only to those who chose it.
  const shown = value.data.filter(({ name, archived }) => !archived || chosen.includes(name));
  const all = shown.map(({ name }) => name);
  const toggle = (name: string, on: boolean) => change(on ? [...chosen, name] : chosen.filter((one) => one !== name));
  const hasAll = all.every((name) => chosen.includes(name));
  return (
    <fieldset className="field" aria-describedby={refusal && "types-wrong"}>
      <legend>{t("common.events")}</legend>
      <p className="help">
        {t("types.onlyChosen")}{" "}
        <button type="button" className="as-link" onClick={() => change(hasAll ? [] : all)}>
          {hasAll ? t("types.chooseNone") : t("types.chooseAll")}
        </button>
      </p>
      <ul className="types card">
        {shown.map((type) => (
          <Type key={type.name} type={type} chosen={chosen} toggle={toggle} />
        ))}
      </ul>
      <details open={chosen.some(isPattern)}>
        <summary>{t("types.alsoReceiveTypesThatAre")}</summary>
        <ul className="types card">
          {patternsOf(all, chosen).map((name) => (
            <Choice
              key={name}
              id={`type-${name}`}
              name={<code>{name}</code>}
              on={chosen.includes(name)}
              toggle={(on) => toggle(name, on)}
            >
              <p id={`type-${name}-says`} className="quiet">
                {name === "*" ? t("types.every") : t("types.beginsWith", { prefix: name.slice(0, -1) })}{" "}
                {patternNote(t("types.it"), name, all)}
              </p>
            </Choice>
          ))}
        </ul>
      </details>
      {refusal && (
        <p id="types-wrong" className="help wrong" role="alert" tabIndex={-1}>
          {refusal}
        </p>
      )}
    </fieldset>
  );
}

/** Returns `*`, one pattern for each first word, and any other pattern that was chosen elsewhere. */
function patternsOf(types: readonly string[], chosen: readonly string[]): readonly string[] {
  const firsts = types.filter((name) => name.includes(".")).map((name) => `${name.slice(0, name.indexOf("."))}.*`);
  return [...new Set(["*", ...firsts, ...chosen.filter(isPattern)])];
}

type Toggle = (name: string, on: boolean) => void;

interface TypeProps {
  readonly type: EventType;
  readonly chosen: readonly string[];
  readonly toggle: Toggle;
}

function Type({ type, chosen, toggle }: TypeProps) {
  const { name, description, sample, source } = type;
  const pattern = chosen.find((one) => one !== name && matches(one, name));
  const shown = (
    <>
      <code>{name}</code> {type.deprecated && <Deprecated />}
    </>
  );
  return (
    <Choice id={`type-${name}`} name={shown} on={chosen.includes(name)} toggle={(on) => toggle(name, on)}>
      <p id={`type-${name}-says`} className="quiet" dir="auto">
        {description} {pattern && t("types.through", { pattern })}
      </p>
      <Life type={type} />
      <details>
        <summary className="quiet">{source === "specified" ? t("types.looksLike") : t("types.sample")}</summary>
        <Code text={JSON.stringify(sample, null, 2)} label={t("types.sampleOf", { name })} />
      </details>
    </Choice>
  );
}

/** Tells people that a type is deprecated or archived. */
function Life({ type: { archived, deprecated_at: since, sunset_at: until } }: { type: EventType }) {
  if (!archived && since === null) return null;
  return (
    <p className="quiet">
      {lifeText(since, until)} {archived && t("types.archivedHere")}
    </p>
  );
}
