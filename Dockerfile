# webhookd in a container of its own, without a shell or a package manager:
#
#   npm run package && docker build -t webhookd .
#   docker run --read-only --cap-drop ALL -v webhookd:/home/nonroot -p 127.0.0.1:8420:8420 webhookd
#
# In the folder of a release, for another processor:
#
#   docker build --platform linux/arm64 --build-arg EXECUTABLE=webhookd-0.1.0-linux-arm64 \
#     --build-arg LICENSES=THIRD-PARTY-LICENSES -t webhookd .
#
# The base holds the C and C++ libraries that Node links, certificates, and a user without rights, 65532. It is named by
# its digest, so that the same commit makes the same image; raise it with each release:
#
#   docker buildx imagetools inspect gcr.io/distroless/cc-debian12:nonroot
FROM gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f

ARG EXECUTABLE=dist/webhookd
ARG LICENSES=dist/THIRD-PARTY-LICENSES
COPY --chmod=0755 ${EXECUTABLE} /usr/local/bin/webhookd
COPY --chmod=0644 LICENSE ${LICENSES} /usr/share/doc/webhookd/

# Data is kept in the home of the base's user, which is there and is its own: a new volume takes over its owner.
# Only there does anything get written. Without a home Node would end before any code of webhookd runs.
ENV HOME=/home/nonroot \
    WEBHOOKD_DATA_DIR=/home/nonroot
VOLUME ["/home/nonroot"]

# Inside a container loopback is out of everybody's reach. Publish the port to a proxy that speaks TLS, or to loopback.
ENV WEBHOOKD_SERVER_LISTEN=0.0.0.0:8420 \
    WEBHOOKD_SERVER_BEHIND_PROXY=true
EXPOSE 8420

USER 65532:65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/local/bin/webhookd", "status", "--brief", "--ready"]
ENTRYPOINT ["/usr/local/bin/webhookd"]
CMD ["serve"]
