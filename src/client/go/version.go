package webhookd

// Version is that of the daemon that the client was made for.
const Version = "0.1.0"
