/** The errors of a store that cannot accept or return anything now. These errors are temporary. */
import { WebhookdError } from "../../domain/errors.ts";

const RETRY_AFTER_SECONDS = 5;

export function storageFull(
  cause?: unknown,
  detail = "there is too little free disk space: nothing was stored",
): WebhookdError {
  return new WebhookdError("storage_full", detail, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}

export function storageUnavailable(cause?: unknown): WebhookdError {
  return new WebhookdError("storage_unavailable", "the store cannot be written or read now", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}
