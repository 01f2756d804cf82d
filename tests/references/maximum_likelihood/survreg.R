# Parametric fits without covariates by survival::survreg; writes survreg.json beside this script.
# survreg's (Intercept) is the location of log time, its scale is one over our precision.
library(survival)
library(jsonlite)
data <- fromJSON("data.json")
one <- function(response, distribution, weights) {
  fit <- survreg(response ~ 1, dist = distribution, weights = weights,
                 control = survreg.control(rel.tolerance = 1e-12, maxiter = 200))
  list(location = unname(coef(fit)), log_precision = -log(fit$scale), log_likelihood = fit$loglik[1])
}
d <- data$interval
responses <- list(
  right = Surv(data$right$time, data$right$event),
  weighted = Surv(data$weighted$time, data$weighted$event),
  interval = Surv(ifelse(d$lower == 0, NA, d$lower), ifelse(d$upper < 0, NA, d$upper), type = "interval2")
)
result <- lapply(c(weibull = "weibull", lognormal = "lognormal", loglogistic = "loglogistic"), function(distribution) {
  sapply(names(responses), function(kind) {
    n <- nrow(responses[[kind]])
    weights <- if (kind == "weighted") data$weighted$weight else rep(1, n)
    one(responses[[kind]], distribution, weights)
  }, simplify = FALSE)
})
writeLines(toJSON(result, auto_unbox = TRUE, digits = 12, pretty = TRUE), "survreg.json")
