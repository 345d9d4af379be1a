/** The state of a button's action: in progress, or refused. */
import { useCallback, useRef, useState } from "react";
import type { ClientError } from "../../client/error.ts";

export interface Act {
  readonly busy: boolean;
  readonly fault: ClientError | undefined;
  /** Runs `work`, unless an action is in progress. */
  run(work: () => Promise<unknown>): Promise<void>;
}

export function useAct(): Act {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<ClientError | undefined>();
  const underWay = useRef(false);
  const run = useCallback(async (work: () => Promise<unknown>) => {
    if (underWay.current) return;
    underWay.current = true;
    setBusy(true);
    setFault(undefined);
    try {
      await work();
    } catch (error) {
      setFault(error as ClientError);
    } finally {
      underWay.current = false;
      setBusy(false);
    }
  }, []);
  return { busy, fault, run };
}
