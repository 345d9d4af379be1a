# gem install standardwebhooks
require "standardwebhooks"

webhook = StandardWebhooks::Webhook.new(ENV["SIGNING_SECRET"])
# Raises if the signature does not match, or if the request is older than five minutes.
event = webhook.verify(raw_body, headers)
