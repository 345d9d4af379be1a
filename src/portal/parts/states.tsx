/** Placeholders for the three cases in which there is nothing to show. */
import type { ReactNode } from "react";
import type { ClientError } from "../../client/error.ts";
import { faultText } from "../language/api.ts";
import { Button } from "./button.tsx";
import { t } from "../language/text.ts";

/** Shows bars in place of text. They appear only after a moment, so that fast responses do not cause flicker. */
export function Loading({ lines = 3 }: { lines?: number }) {
  return (
    <div className="loading" role="status" aria-label={t("common.loading")}>
      {Array.from({ length: lines }, (_, at) => (
        <i key={at} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Trouble({ fault, again }: { fault: ClientError; again?: () => void }) {
  return (
    <div className="alert bad" role="alert">
      <p>{faultText(fault)}</p>
      {again !== undefined && <Button onClick={again}>{t("states.tryAgain")}</Button>}
    </div>
  );
}
