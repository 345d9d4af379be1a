/** The field for the event types of an endpoint: each type with its description and a sample. */
import { Checkbox } from "@base-ui/react/checkbox";
import type { EventType } from "../../client/operations.ts";
import { Code } from "../parts/code.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { useRead } from "../session/session.ts";

interface Props {
  readonly chosen: readonly string[];
  readonly refusal: string | undefined;
  readonly change: (chosen: readonly string[]) => void;
}

export function TypesField({ chosen, refusal, change }: Props) {
  const { value, fault, again } = useRead("listEventTypes", {});
  if (value === undefined) return fault === undefined ? <Loading lines={6} /> : <Trouble fault={fault} again={again} />;
  const all = value.data.map(({ name }) => name);
  const toggle = (name: string, on: boolean) => change(on ? [...chosen, name] : chosen.filter((one) => one !== name));
  return (
    <fieldset className="field" aria-describedby={refusal && "types-wrong"}>
      <legend>Events</legend>
      <p className="help">
        Only events of the types that you choose are sent here.{" "}
        <button type="button" className="as-link" onClick={() => change(chosen.length === all.length ? [] : all)}>
          {chosen.length === all.length ? "Choose none" : "Choose all"}
        </button>
      </p>
      <ul className="types card">
        {value.data.map((type) => (
          <Type key={type.name} type={type} on={chosen.includes(type.name)} toggle={toggle} />
        ))}
      </ul>
      {refusal && (
        <p id="types-wrong" className="help wrong" role="alert">
          {refusal}
        </p>
      )}
    </fieldset>
  );
}

interface TypeProps {
  readonly type: EventType;
  readonly on: boolean;
  readonly toggle: (name: string, on: boolean) => void;
}

function Type({ type: { name, description, sample, source }, on, toggle }: TypeProps) {
  const id = `type-${name}`;
  return (
    <li>
      <Checkbox.Root
        id={id}
        className="check"
        checked={on}
        aria-labelledby={`${id}-name`}
        aria-describedby={`${id}-says`}
        onCheckedChange={(checked) => toggle(name, checked)}
      >
        <Checkbox.Indicator>
          <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
            <path d="M3.5 8.5 6.5 11.5 12.5 5" fill="none" stroke="currentColor" strokeWidth="2.2" />
          </svg>
        </Checkbox.Indicator>
      </Checkbox.Root>
      <div>
        <label id={`${id}-name`} htmlFor={id} className="type-name">
          <code>{name}</code>
        </label>
        <p id={`${id}-says`} className="quiet" dir="auto">
          {description}
        </p>
        <details>
          <summary className="quiet">
            {source === "specified" ? "What its data looks like" : "A sample of its data"}
          </summary>
          <Code text={JSON.stringify(sample, null, 2)} label={`Sample of ${name}`} />
        </details>
      </div>
    </li>
  );
}
