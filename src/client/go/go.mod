module webhookd

go 1.23
