// go get github.com/standard-webhooks/standard-webhooks/libraries
import standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

webhook, err := standardwebhooks.NewWebhook(os.Getenv("SIGNING_SECRET"))
// Fails if the signature does not match, or if the request is older than five minutes.
err = webhook.Verify(rawBody, request.Header)
