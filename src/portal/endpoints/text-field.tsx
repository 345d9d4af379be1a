/** A field of one line that may stay empty. */
import type { InputHTMLAttributes, ReactNode } from "react";
import { t } from "../language/text.ts";

interface Props extends Pick<
  InputHTMLAttributes<HTMLInputElement>,
  "maxLength" | "inputMode" | "readOnly" | "dir" | "type"
> {
  readonly id: string;
  readonly label: string;
  readonly text: string;
  /** Shown in place of `help`. */
  readonly refusal: string | undefined;
  readonly help: ReactNode;
  readonly change: (text: string) => void;
}

export function TextField({ id, label, text, refusal, help, change, ...rest }: Props) {
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} <span className="quiet">{t("common.optional")}</span>
      </label>
      <input
        {...rest}
        id={id}
        autoComplete="off"
        value={text}
        aria-invalid={refusal !== undefined}
        aria-describedby={`${id}-help`}
        onChange={({ target }) => change(target.value)}
      />
      <p id={`${id}-help`} className={refusal ? "help wrong" : "help"}>
        {refusal ?? help}
      </p>
    </div>
  );
}
