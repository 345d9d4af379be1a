/** What streams tell of. */
export const STREAMED_STATUSES = ["pending", "delivered", "failed", "cancelled"] as const;
