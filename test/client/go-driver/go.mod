module driver

go 1.23

require webhookd v0.0.0

replace webhookd => ../../../src/client/go
