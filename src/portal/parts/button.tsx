import type { ButtonHTMLAttributes, ReactNode } from "react";

type Kind = "primary" | "plain" | "quiet" | "danger";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: Kind;
  /** True while the button's action is in progress. The button then keeps the focus and ignores clicks. */
  readonly busy?: boolean;
  readonly children: ReactNode;
}

export function Button({ kind = "plain", busy = false, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`button ${kind} ${rest.className ?? ""}`}
      aria-disabled={busy || rest["aria-disabled"]}
      data-busy={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      {children}
    </button>
  );
}
