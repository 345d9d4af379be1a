/** A check box in a list, with its name and a description. */
import type { ReactNode } from "react";
import { Checkbox } from "@base-ui/react/checkbox";

interface Props {
  readonly id: string;
  readonly name: ReactNode;
  readonly on: boolean;
  /** If absent, the choice cannot be changed. */
  readonly toggle?: (on: boolean) => void;
  /** Contains an element with the id `ID-says`. */
  readonly children: ReactNode;
}

export function Choice({ id, name, on, toggle, children }: Props) {
  return (
    <li>
      <Checkbox.Root
        id={id}
        className="check"
        checked={on}
        disabled={toggle === undefined}
        aria-labelledby={`${id}-name`}
        aria-describedby={`${id}-says`}
        onCheckedChange={(checked) => toggle?.(checked)}
      >
        <Checkbox.Indicator>
          <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
            <path d="M3.5 8.5 6.5 11.5 12.5 5" fill="none" stroke="currentColor" strokeWidth="2.2" />
          </svg>
        </Checkbox.Indicator>
      </Checkbox.Root>
      <div>
        <label id={`${id}-name`} htmlFor={id} className="type-name">
          {name}
        </label>
        {children}
      </div>
    </li>
  );
}
