/**
 * The systemd units. The other options that `systemd-analyze security` suggests would break webhookd: V8 generates code
 * at run time (MemoryDenyWriteExecute), and the addresses of this host, which endpoints must not use, are read over
 * netlink.
 */
import { printAddress, type Address } from "../../src/config/kinds.ts";
import { ENDS_OF_SERVE, EXIT, type EndOfServe } from "../exit-code.ts";

/** `program` is the absolute path of webhookd. */
// oxlint-disable-next-line max-lines-per-function -- it is one text
export function serviceUnit(program: string): string {
  const ends = Object.keys(ENDS_OF_SERVE) as EndOfServe[];
  const final = ends.filter((end) => !ENDS_OF_SERVE[end].again).map((end) => EXIT[end]);
  return `[Unit]
Description=webhookd, delivers webhooks
Wants=network-online.target
After=network-online.target
# Restart it however often it has failed: the cause may have passed.
StartLimitIntervalSec=0

[Service]
Type=exec
User=webhookd
Group=webhookd
ExecStart=${program} serve
# The unit counts as started once events are accepted. On a full disk they are not, but deliveries continue: hence "-".
ExecStartPost=-${program} status --wait --brief
ExecReload=/bin/kill -HUP $MAINPID
# Attempts in flight get 12 s to finish.
TimeoutStopSec=30
KillMode=mixed
Restart=on-failure
RestartSec=1
# From systemd 254 on, the pause grows to a minute; older versions warn about these two settings and wait a second.
RestartSteps=6
RestartMaxDelaySec=60
# Bad configuration, corrupt data, stopped by hand: a restart would change nothing.
RestartPreventExitStatus=${final.join(" ")}

# Data: /var/lib/webhookd. Socket: /run/webhookd/webhookd.sock, which members of the group above use without a key;
# another [server] socket_group is out of reach under PrivateUsers.
StateDirectory=webhookd
StateDirectoryMode=0700
RuntimeDirectory=webhookd
RuntimeDirectoryMode=0750
Environment=WEBHOOKD_SERVER_SOCKET_MODE=0660
# If /etc/credstore/webhookd.secret.key exists, it is used instead of secret.key in the data directory.
LoadCredential=secret.key:webhookd.secret.key
UMask=0077

LimitNOFILE=65536
LimitCORE=0
# A fault in webhookd ends webhookd, not its host.
MemoryMax=75%
TasksMax=256
OOMScoreAdjust=-100

NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateMounts=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
KeyringMode=private
DevicePolicy=closed
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
# The daemon refuses internal addresses itself. To have the kernel refuse them as well, list what your network does not
# need; cloud providers serve DNS at link-local addresses.
#IPAddressDeny=169.254.169.254/32 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16

[Install]
WantedBy=multi-user.target
`;
}

/** `listen` must match `[server] listen`, or the daemon refuses to start. */
export function socketUnit(listen: Address): string {
  return `[Unit]
Description=webhookd, the socket of its API

[Socket]
# The same as [server] listen, or the daemon refuses to start.
ListenStream=${printAddress(listen)}
NoDelay=yes
# Connections that wait while the daemon restarts.
Backlog=4096

[Install]
WantedBy=sockets.target
`;
}
