# metajudge as a service: docker build -t metajudge . && docker run -e METAJUDGE_API_KEY=... -p 127.0.0.1:8080:8080 metajudge
FROM python:3.11.14-slim-bookworm

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN useradd --create-home --uid 10001 metajudge && install -d -o metajudge -g metajudge /data
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY requirements requirements
COPY metajudge metajudge
COPY api api
COPY benchmarks benchmarks
COPY rubrics rubrics
# The extras api, otel and postgres, in the locked versions.
RUN pip install -r requirements/service.txt && pip install --no-deps .

USER 10001
WORKDIR /home/metajudge
ENV METAJUDGE_STORE=/data/metajudge.db
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
# Listens beyond loopback, so it does not start without METAJUDGE_API_KEY or keys in a service file.
CMD ["metajudge", "serve", "--host", "0.0.0.0", "--port", "8080"]
