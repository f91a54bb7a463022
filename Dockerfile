# The image of a release, from the package that `npm pack` has made: docker build . after it.
# Node's own image, not a smaller one with an executable: Node 26 needs libatomic, key commands need a shell, and the
# package is the same on every processor, so that no stage has to be emulated.
FROM --platform=$BUILDPLATFORM node:26-slim AS package
# The builder is sent nothing else of the folder.
COPY modelgate-*.tgz /tmp/modelgate.tgz
# Everything is bundled: nothing is downloaded.
RUN npm install --global --prefix /opt/modelgate --offline --ignore-scripts --no-audit --no-fund /tmp/modelgate.tgz \
  && mkdir /opt/work

FROM node:26-slim
COPY --from=package /opt/modelgate /usr/local
# Where files are written that are not mounted.
COPY --from=package --chown=node:node /opt/work /work
USER node
WORKDIR /work
# No shell around it, so that it gets the signals.
ENTRYPOINT ["modelgate"]
