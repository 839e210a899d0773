FROM registry.example.com/opm:v1.48.0
ARG CATALOG
ADD ${CATALOG} /configs
