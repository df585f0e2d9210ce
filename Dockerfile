FROM node:24-bookworm-slim AS base
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY tools tools

# The example's order service and ticket desk: they serve HTTP with a development dependency.
FROM base AS example
RUN npm ci --loglevel=error
COPY examples examples
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
CMD ["node", "examples/technova/order-service/main.ts"]

FROM base AS turnkeeper
ENV NODE_ENV=production
RUN npm ci --omit=dev --loglevel=error
COPY src src
COPY examples examples
COPY turnkeeper.config.ts ./
USER node
CMD ["node", "src/cli/main.ts", "worker"]
