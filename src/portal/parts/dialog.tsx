/**
 * A modal dialog that holds the focus and is closed by Escape. A click outside does not close one that asks before
 * something is lost.
 */
import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";

interface Props {
  readonly open: boolean;
  readonly close: () => void;
  readonly title: string;
  readonly children: ReactNode;
}

export function Sheet({ open, close, title, children }: Props) {
  return (
    <Dialog.Root open={open} onOpenChange={(isOpen) => isOpen || close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{title}</Dialog.Title>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

export function Question({ open, close, title, children }: Props) {
  return (
    <AlertDialog.Root open={open} onOpenChange={(isOpen) => isOpen || close()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title>{title}</AlertDialog.Title>
          {children}
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
