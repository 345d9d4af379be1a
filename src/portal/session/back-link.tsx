/** Leads back to the application that the customer came from. */
import type { ReactNode } from "react";

export const isFramed = window.parent !== window;

interface Props {
  readonly to: string;
  readonly className?: string;
  /** True to keep this page open, because something in it is not saved. */
  readonly keeps?: boolean;
  readonly label?: string;
  readonly children: ReactNode;
}

/** In a frame, the application must not be loaded inside of itself. */
export function BackLink({ to, className, keeps = false, label, children }: Props) {
  return (
    <a
      className={className}
      href={to}
      target={isFramed ? "_top" : keeps ? "_blank" : undefined}
      rel="noopener noreferrer"
      referrerPolicy="no-referrer"
      aria-label={label}
    >
      {children}
    </a>
  );
}
