# Cox regression: coefficients, standard errors, log-likelihoods and survival curves of R's survival package.
# Run here: Rscript cox.R    (writes cox.json)
suppressMessages(library(survival))
set.seed(20)
n <- 120
x <- cbind(a = round(rnorm(n), 3), b = rbinom(n, 1, .4), c = round(rexp(n) * 50, 1))
event_time <- rexp(n, .1 * exp(.6 * x[, 1] - .5 * x[, 2] + .01 * x[, 3]))
censoring <- runif(n, 0, 25)
time <- ceiling(pmin(event_time, censoring) * 2) / 2            # halves: many ties
event <- as.integer(event_time <= censoring)
entry <- ifelse(runif(n) < .4, floor(time * runif(n)), 0)
entry <- ifelse(entry < time, entry, 0)
weight <- round(runif(n, .2, 3), 2)
data <- data.frame(x, time, event, entry, weight)
new <- data.frame(a = c(-1, 0, 1.5), b = c(0, 1, 1), c = c(10, 50, 150))
times <- c(0, .5, 2, 3.25, 7, 12, 24, 100)

curves <- function(fit, ctype) {
  s <- survfit(fit, newdata = new, ctype = ctype, stype = 2, se.fit = FALSE)
  t(summary(s, times = times, extend = TRUE)$surv)              # rows: subjects
}
cases <- list()
for (ties in c("efron", "breslow")) for (truncated in c(FALSE, TRUE)) for (weighted in c(FALSE, TRUE)) {
  left <- if (truncated) "Surv(entry, time, event)" else "Surv(time, event)"
  f <- as.formula(paste(left, "~ a + b + c"))
  data$w <- if (weighted) data$weight else rep(1, n)
  fit <- coxph(f, data, weights = w, ties = ties, control = coxph.control(eps = 1e-11, toler.chol = 1e-12, iter.max = 50))
  cases[[length(cases) + 1]] <- list(
    ties = ties, truncated = truncated, weighted = weighted, coef = unname(coef(fit)),
    standard_errors = unname(sqrt(diag(if (is.null(fit$naive.var)) fit$var else fit$naive.var))),
    log_likelihood = fit$loglik[2], log_likelihood_null = fit$loglik[1],
    breslow = curves(fit, 1), efron = curves(fit, 2))
}
made_with <- list(R = R.version.string, survival = as.character(packageVersion("survival")))
columns <- list(x = unname(x), time = time, event = event, entry = entry, weight = weight)
writeLines(jsonlite::toJSON(list(made_with = made_with, data = columns, new = unname(as.matrix(new)), times = times,
                                 cases = cases), digits = I(15), auto_unbox = TRUE), "cox.json")
