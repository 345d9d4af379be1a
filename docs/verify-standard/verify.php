// composer require standard-webhooks/standard-webhooks
$webhook = new \StandardWebhooks\Webhook(getenv("SIGNING_SECRET"));
// Throws if the signature does not match, or if the request is older than five minutes.
$event = $webhook->verify($rawBody, $headers);
